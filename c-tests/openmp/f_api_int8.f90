! The same routines with 8-byte default integers: the _8_ entries (libgomp's Fortran ABI).
! hetmp-test: flags=-fdefault-integer-8
program f_api_int8
  use omp_lib
  implicit none
  integer :: n, total, i
  integer(8) :: eight
  integer(4) :: four
  four = 3
  call omp_set_num_threads(four)
  if (omp_get_max_threads() /= 3) stop 1
  eight = 6
  call omp_set_num_threads(eight)
  if (omp_get_max_threads() /= 6) stop 2
  call omp_set_dynamic(.false._8)
  if (omp_get_dynamic()) stop 3
  eight = 2
  call omp_set_max_active_levels(eight)
  if (omp_get_max_active_levels() /= 2) stop 4
  call omp_set_schedule(omp_sched_dynamic, 9_8)
  total = 0
  !$omp parallel reduction(+:total) private(n)
  n = omp_get_thread_num()
  eight = 1
  if (omp_get_ancestor_thread_num(1_8) /= n) stop 5
  if (omp_get_team_size(1_8) /= 6) stop 6
  !$omp do schedule(runtime)
  do i = 1, 100
     total = total + i
  end do
  !$omp end parallel
  call omp_set_default_device(0_8)
  print '(i6)', total
  print '(a)', 'ok'
end program
