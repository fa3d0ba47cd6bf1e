! The routines of module omp_lib from Fortran (OpenMP 5.1, 3).
program f_api
  use omp_lib
  implicit none
  integer :: n, total, chunk
  integer(omp_sched_kind) :: kind
  logical :: flag
  if (omp_get_level() /= 0) stop 1
  if (omp_in_parallel()) stop 2
  call omp_set_num_threads(5)
  if (omp_get_max_threads() /= 5) stop 3
  call omp_set_dynamic(.true.)
  if (.not. omp_get_dynamic()) stop 4
  call omp_set_dynamic(.false.)
  if (omp_get_dynamic()) stop 5
  call omp_set_max_active_levels(3)
  if (omp_get_max_active_levels() /= 3) stop 6
  call omp_set_schedule(omp_sched_guided, 11)
  call omp_get_schedule(kind, chunk)
  print '(2i4)', iand(kind, 127), chunk
  if (omp_get_num_procs() < 1) stop 7
  if (omp_get_thread_limit() < 1) stop 8
  if (omp_get_wtick() <= 0d0) stop 9
  if (omp_get_wtime() <= 0d0) stop 10
  total = 0
  !$omp parallel num_threads(4) reduction(+:total) private(n)
  n = omp_get_thread_num()
  if (omp_get_num_threads() /= 4) stop 11
  if (omp_get_level() /= 1 .or. omp_get_active_level() /= 1) stop 12
  if (omp_get_ancestor_thread_num(1) /= n) stop 13
  if (omp_get_team_size(1) /= 4) stop 14
  if (omp_get_ancestor_thread_num(5) /= -1) stop 15
  if (.not. omp_in_parallel()) stop 16
  if (omp_in_final()) stop 17
  total = total + n
  !$omp end parallel
  flag = omp_get_cancellation()
  print '(i4,l2)', total, flag
  print '(3i4)', omp_get_num_teams(), omp_get_team_num(), omp_get_num_devices()
  if (.not. omp_is_initial_device()) stop 18
  print '(i4)', omp_get_max_task_priority()
  print '(a)', 'ok'
end program
