! Recursive tasks with firstprivate arguments (OpenMP 5.1, 2.12.1).
program f_task_fib
  implicit none
  integer :: r
  !$omp parallel
  !$omp single
  call fib(17, r)
  !$omp end single
  !$omp end parallel
  print '(i8)', r
contains
  recursive subroutine fib(n, r)
    integer, intent(in) :: n
    integer, intent(out) :: r
    integer :: a, b
    if (n < 2) then
       r = n
       return
    end if
    !$omp task shared(a) firstprivate(n)
    call fib(n - 1, a)
    !$omp end task
    !$omp task shared(b) firstprivate(n)
    call fib(n - 2, b)
    !$omp end task
    !$omp taskwait
    r = a + b
  end subroutine
end program
