! Remaining omp_lib routines: teams, devices, nested, pause, levels (OpenMP 5.1, 3).
! hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=1
! hetmp-test: flags=-Wno-deprecated
program f_api_more
  use omp_lib
  implicit none
  integer :: x
  call omp_set_default_device(2)
  print '(i6)', omp_get_default_device()
  call omp_set_default_device(0)
  print '(2i6)', omp_get_initial_device(), omp_get_device_num()
  call omp_set_num_teams(3)
  call omp_set_teams_thread_limit(4)
  print '(2i6)', omp_get_max_teams(), omp_get_teams_thread_limit()
  print '(i12)', omp_get_supported_active_levels()
  print '(l2)', omp_get_nested()
  call omp_set_nested(.true.)
  print '(l2)', omp_get_nested()
  call omp_set_nested(.false.)
  print '(l2)', omp_get_nested()
  print '(2i4)', omp_pause_resource(omp_pause_soft, omp_get_initial_device()), omp_pause_resource_all(omp_pause_hard)
  x = 0
  !$omp parallel num_threads(3) reduction(+:x)
  x = x + 1
  !$omp end parallel
  print '(i4)', x
end program
