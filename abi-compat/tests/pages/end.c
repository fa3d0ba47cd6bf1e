// Linked last: the program's variables end where a page of PAGE bytes does, as a kernel with such pages maps them.
char hetmp_test_end[PAGE] __attribute__((aligned(PAGE)));
