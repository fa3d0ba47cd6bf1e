! The include file omp_lib.h instead of the module (OpenMP 5.1, 3.1).
program f_lib_header
  implicit none
  include 'omp_lib.h'
  integer :: n
  n = 0
  !$omp parallel num_threads(3) reduction(+:n)
  n = n + omp_get_num_threads()
  !$omp end parallel
  print '(i4)', n
end program
