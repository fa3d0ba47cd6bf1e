! Simple and nestable locks from Fortran (OpenMP 5.1, 3.9).
program f_locks
  use omp_lib
  implicit none
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer :: i, n, m, depth, refused
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  n = 0; m = 0; refused = 0
  !$omp parallel num_threads(4) private(i, depth)
  do i = 1, 500
     call omp_set_lock(lock)
     n = n + 1
     call omp_unset_lock(lock)
     call omp_set_nest_lock(nest)
     depth = omp_test_nest_lock(nest)
     if (depth /= 2) stop 1
     m = m + 1
     call omp_unset_nest_lock(nest)
     call omp_unset_nest_lock(nest)
     do while (.not. omp_test_lock(lock))
     end do
     n = n + 1
     call omp_unset_lock(lock)
  end do
  !$omp end parallel
  call omp_set_lock(lock)
  if (omp_test_lock(lock)) refused = 1
  call omp_unset_lock(lock)
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  print '(3i6)', n, m, refused
end program
