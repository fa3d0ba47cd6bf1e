/*
 * shmemx.h: extensions to OpenSHMEM. There are none; the specification (1.5, section 5) wants the file.
 */
#ifndef HETMP_SHMEMX_H
#define HETMP_SHMEMX_H

#include <shmem.h>

#endif
