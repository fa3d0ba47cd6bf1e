! Output of many threads under critical and ordered comes out whole (OpenMP 5.1, 2.19.1).
program f_critical_io
  implicit none
  integer :: i
  !$omp parallel do ordered schedule(static, 1) num_threads(4)
  do i = 1, 12
     !$omp ordered
     print '(a,i3)', 'line', i
     !$omp end ordered
  end do
end program
