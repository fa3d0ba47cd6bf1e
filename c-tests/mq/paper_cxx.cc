/* The paper's example as C++. */
#include "paper.c"
