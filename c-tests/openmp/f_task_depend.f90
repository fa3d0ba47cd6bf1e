! Tasks with depend, priority, final, taskwait and taskgroup (OpenMP 5.1, 2.12 and 2.19.11).
program f_task_depend
  use omp_lib
  implicit none
  integer :: x, i, total, y(10)
  x = 0; total = 0; y = 0
  !$omp parallel num_threads(4)
  !$omp single
  do i = 1, 100
     !$omp task depend(inout: x) shared(x) firstprivate(i)
     if (x /= i - 1) stop 1
     x = i
     !$omp end task
  end do
  !$omp task depend(in: x) shared(x, total)
  !$omp atomic
  total = total + x
  !$omp end task
  !$omp taskwait
  !$omp taskgroup
  do i = 1, 10
     !$omp task depend(mutexinoutset: y(1)) shared(y) firstprivate(i) priority(i)
     y(1) = y(1) + i
     !$omp task shared(y) final(i > 5) mergeable
     !$omp atomic
     y(2) = y(2) + 1
     !$omp end task
     !$omp end task
  end do
  !$omp end taskgroup
  if (y(1) /= 55 .or. y(2) /= 10) stop 2
  !$omp end single
  !$omp end parallel
  print '(4i6)', x, total, y(1), y(2)
end program
