! Affinity format with Fortran strings: blank padding and lengths (OpenMP 5.1, 3.2.25-28).
program f_api_affinity_format
  use omp_lib
  implicit none
  character(len=60) :: text
  character(len=6) :: short
  integer :: n
  call omp_set_affinity_format('level %L thread %n of %N   ')
  n = omp_get_affinity_format(text)
  print '(i4,a,a,a)', n, ' [', text, ']'
  n = omp_get_affinity_format(short)
  print '(i4,a,a,a)', n, ' [', short, ']'
  n = omp_capture_affinity(text, '%n-%N-%L')
  print '(i4,a,a,a)', n, ' [', text, ']'
  n = omp_capture_affinity(text, '')
  print '(i4,a,a,a)', n, ' [', text, ']'
end program
