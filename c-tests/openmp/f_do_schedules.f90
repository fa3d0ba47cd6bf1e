! Do loops in every schedule, step signs and collapse (OpenMP 5.1, 2.11.4).
program f_do_schedules
  use omp_lib
  implicit none
  integer, parameter :: n = 1000
  integer :: hits(n), i, j, k
  hits = 0
  !$omp parallel num_threads(5)
  !$omp do schedule(static)
  do i = 1, n
     hits(i) = hits(i) + 1
  end do
  !$omp end do
  !$omp do schedule(static, 7)
  do i = n, 1, -1
     hits(i) = hits(i) + 1
  end do
  !$omp end do
  !$omp do schedule(dynamic)
  do i = 1, n
     hits(i) = hits(i) + 1
  end do
  !$omp end do
  !$omp do schedule(dynamic, 13)
  do i = -n, -1
     hits(-i) = hits(-i) + 1
  end do
  !$omp end do
  !$omp do schedule(guided, 3)
  do i = 3, 3 * n, 3
     hits(i / 3) = hits(i / 3) + 1
  end do
  !$omp end do
  !$omp do schedule(runtime)
  do i = 1, n
     hits(i) = hits(i) + 1
  end do
  !$omp end do
  !$omp do schedule(auto)
  do i = 1, n
     hits(i) = hits(i) + 1
  end do
  !$omp end do
  !$omp do collapse(3) schedule(dynamic, 2)
  do i = 0, 9
     do j = 0, 9
        do k = 10, 1, -1
           hits(i * 100 + j * 10 + k) = hits(i * 100 + j * 10 + k) + 1
        end do
     end do
  end do
  !$omp end do nowait
  !$omp end parallel
  if (any(hits /= 8)) stop 1
  print '(2i8)', minval(hits), sum(hits)
end program
