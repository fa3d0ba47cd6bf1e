! Place routines from Fortran (OpenMP 5.1, 3.3).
! hetmp-test: env=OMP_PLACES={0},{1}
! hetmp-test: env=OMP_PROC_BIND=close
program f_api_places
  use omp_lib
  implicit none
  integer :: ids(4), nums(4), p
  ids = -1
  nums = -1
  print '(3i4)', omp_get_num_places(), omp_get_place_num(), omp_get_partition_num_places()
  do p = 0, omp_get_num_places() - 1
     call omp_get_place_proc_ids(p, ids)
     print '(3i4)', p, omp_get_place_num_procs(p), ids(1)
  end do
  call omp_get_partition_place_nums(nums)
  print '(2i4)', nums(1:2)
  print '(i4)', omp_get_proc_bind()
end program
