! sections, single with copyprivate, master and masked (OpenMP 5.1, 2.10).
program f_sections_single
  use omp_lib
  implicit none
  integer :: ran(3), singles, masters, x, good, last
  ran = 0; singles = 0; masters = 0; good = 0; last = 0
  !$omp parallel num_threads(4) private(x) reduction(+:good)
  !$omp sections lastprivate(last)
  !$omp section
  ran(1) = ran(1) + 1
  last = 1
  !$omp section
  ran(2) = ran(2) + 1
  last = 2
  !$omp section
  ran(3) = ran(3) + 1
  last = 3
  !$omp end sections
  !$omp single
  singles = singles + 1
  x = 55
  !$omp end single copyprivate(x)
  if (x == 55 .and. last == 3) good = good + 1
  !$omp master
  masters = masters + 1
  !$omp end master
  !$omp masked filter(2)
  if (omp_get_thread_num() /= 2) stop 1
  !$omp end masked
  !$omp single
  singles = singles + 1
  !$omp end single nowait
  !$omp end parallel
  print '(7i4)', ran, singles, masters, good, last
end program
