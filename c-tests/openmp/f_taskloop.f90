! taskloop with grainsize, num_tasks, reduction, collapse and lastprivate (OpenMP 5.1, 2.12.2).
program f_taskloop
  implicit none
  integer :: hits(600), i, j, s, last, g
  integer(8) :: k
  hits = 0; s = 0; last = 0; g = 0
  !$omp parallel num_threads(4)
  !$omp single
  !$omp taskloop grainsize(7)
  do i = 1, 600
     hits(i) = hits(i) + 1
  end do
  !$omp end taskloop
  !$omp taskloop num_tasks(9) lastprivate(last)
  do i = 600, 1, -1
     hits(i) = hits(i) + 1
     last = i
  end do
  !$omp end taskloop
  !$omp taskloop collapse(2) reduction(+:s)
  do i = 1, 20
     do j = 1, 30
        hits((i - 1) * 30 + j) = hits((i - 1) * 30 + j) + 1
        s = s + i * j
     end do
  end do
  !$omp end taskloop
  !$omp taskgroup task_reduction(+:g)
  !$omp taskloop in_reduction(+:g) nogroup
  do k = 1_8, 600_8
     hits(k) = hits(k) + 1
     g = g + 1
  end do
  !$omp end taskloop
  !$omp end taskgroup
  !$omp end single
  !$omp end parallel
  if (any(hits /= 4)) stop 1
  print '(3i8)', s, last, g
end program
