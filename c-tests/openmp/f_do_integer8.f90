! Do loops over integer(8), integer(1) and integer(2) with extreme bounds (OpenMP 5.1, 2.11.1).
program f_do_integer8
  implicit none
  integer, parameter :: n = 300
  integer :: hits(0:n - 1)
  integer(8) :: i, top
  integer(2) :: s
  integer(1) :: b
  hits = 0
  top = huge(top) - 1
  !$omp parallel num_threads(4)
  !$omp do schedule(dynamic, 3)
  do i = top - n + 1, top
     hits(i - (top - n + 1)) = hits(i - (top - n + 1)) + 1
  end do
  !$omp end do
  !$omp do schedule(guided)
  do i = -top + n - 1, -top, -1
     hits(-top + n - 1 - i) = hits(-top + n - 1 - i) + 1
  end do
  !$omp end do
  !$omp do schedule(dynamic)
  do s = -150_2, 149_2
     hits(s + 150) = hits(s + 150) + 1
  end do
  !$omp end do
  !$omp do schedule(dynamic)
  do b = -100_1, 100_1
     hits(b + 100) = hits(b + 100) + 1
  end do
  !$omp end do
  !$omp end parallel
  print '(3i6)', sum(hits), maxval(hits), minval(hits)
end program
