! Only compiled, never run.
subroutine fits_add(n, x, y)
  integer :: n, i
  real(8) :: x(n), y(n)
  !$omp parallel do
  do i = 1, n
     x(i) = x(i) + exp(y(i))
  end do
end subroutine

subroutine fits_stencil(n, m, u, v)
  integer :: n, m, i, j
  real(8) :: u(n, m), v(n, m), t(5)
  !$omp parallel default(shared) private(i, j, t)
  !$omp do
  do j = 2, m - 1
     do i = 2, n - 1
        t(1) = u(i - 1, j)
        t(2) = u(i + 1, j)
        v(i, j) = t(1) + t(2)
     end do
  end do
  !$omp do
  do j = 2, m - 1
     do i = 2, n - 1
        u(i, j) = v(i, j)
     end do
  end do
  !$omp end parallel
end subroutine

subroutine fits_sum(n, x, s)
  integer :: n, i
  real(8) :: x(n), s
  !$omp parallel do reduction(+:s)
  do i = 1, n
     s = s + x(i)
  end do
end subroutine

subroutine refused_slot(n, x, best)
  use omp_lib
  integer :: n, i, me
  real(8) :: x(n), best(0:*)
  !$omp parallel private(me)
  me = omp_get_thread_num()
  !$omp do
  do i = 1, n
     best(me) = best(me) + x(i)
  end do
  !$omp end parallel
end subroutine

program nothing
end program
