! The same with 8-byte default integers and logicals (libgomp's _8_ entries).
! hetmp-test: env=OMP_PLACES={0},{1}
! hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=1
! hetmp-test: flags=-fdefault-integer-8 -Wno-deprecated
program f_api_more_int8
  use omp_lib
  implicit none
  integer :: chunk, p
  integer(omp_sched_kind) :: kind
  integer(8) :: ids8(4)
  call omp_set_schedule(omp_sched_guided, 123_8)
  call omp_get_schedule(kind, chunk)
  print '(2i6)', iand(kind, 127_omp_sched_kind), chunk
  call omp_set_num_teams(5_8)
  call omp_set_teams_thread_limit(6_8)
  print '(2i6)', omp_get_max_teams(), omp_get_teams_thread_limit()
  call omp_set_nested(.true._8)
  print '(l2)', omp_get_nested()
  do p = 0, 1
     ids8 = -1
     call omp_get_place_proc_ids(int(p, 8), ids8)
     print '(2i6)', omp_get_place_num_procs(int(p, 8)), ids8(1)
  end do
  ids8 = -1
  call omp_get_partition_place_nums(ids8)
  print '(2i6)', ids8(1:2)
end program
