! Detached tasks and omp_fulfill_event from Fortran (OpenMP 5.1, 3.5.1).
program f_task_detach
  use omp_lib
  implicit none
  integer(omp_event_handle_kind) :: ev
  integer :: x, y, i
  x = 0; y = 0
  do i = 1, 20
     !$omp parallel num_threads(3)
     !$omp single
     !$omp task detach(ev) depend(out: x) shared(x)
     x = x + 1
     !$omp end task
     !$omp task depend(in: x) shared(x, y)
     y = y + x
     !$omp end task
     !$omp task firstprivate(ev)
     call omp_fulfill_event(ev)
     !$omp end task
     !$omp end single
     !$omp end parallel
  end do
  print '(2i6)', x, y
end program
