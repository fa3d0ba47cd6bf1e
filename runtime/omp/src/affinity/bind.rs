//! Which thread goes where: thread affinity policies (OpenMP 5.1, section 2.6.2).
