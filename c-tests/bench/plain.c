// A program that uses no OpenMP and is not linked to any runtime: what a
// preload costs it is measured from outside.
int main(void) { return 0; }
