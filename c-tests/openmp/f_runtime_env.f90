! OMP_SCHEDULE drives schedule(runtime) in Fortran (OpenMP 5.1, 6.1).
! hetmp-test: env=OMP_SCHEDULE=static,5
program f_runtime_env
  use omp_lib
  implicit none
  integer :: i, owner(200), chunk
  integer(omp_sched_kind) :: kind
  call omp_get_schedule(kind, chunk)
  !$omp parallel do schedule(runtime) num_threads(4)
  do i = 1, 200
     owner(i) = omp_get_thread_num()
  end do
  do i = 1, 200
     if (owner(i) /= mod((i - 1) / 5, 4)) stop 1
  end do
  print '(2i4)', iand(kind, 127), chunk
end program
