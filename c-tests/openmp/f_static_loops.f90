! Loops without a schedule clause in Fortran, alone and with barriers between them.
program static_loops
  implicit none
  integer, parameter :: n = 500
  real(8) :: a(n), b(n), total
  integer :: i, step
  a = 1
  total = 0
  !$omp parallel do
  do i = 1, n
     a(i) = a(i) + mod(i, 7)
  end do
  !$omp end parallel do
  !$omp parallel private(step)
  do step = 1, 20
     !$omp do
     do i = 1, n
        b(i) = a(mod(i, n) + 1)
     end do
     !$omp end do
     !$omp do
     do i = n, 1, -1
        a(i) = b(i) + 1
     end do
     !$omp end do
     !$omp single
     a(1) = a(1) + 2
     !$omp end single
  end do
  !$omp end parallel
  !$omp parallel workshare
  b = a * 2
  !$omp end parallel workshare
  !$omp parallel do reduction(+:total)
  do i = 1, n
     total = total + b(i)
  end do
  !$omp end parallel do
  print '(f12.1)', total
end program static_loops
