! A common block, variables of a module and a contained procedure.
module numbers
  implicit none
  integer, parameter :: n = 1000
  real(8) :: weights(n) = 0.5d0
end module

program blocks
  use numbers
  implicit none
  real(8) :: table(n), total
  integer :: count, i
  common /shared/ table, count
  count = n
  do i = 1, count
    table(i) = i
  end do
  total = 0
  !$omp parallel do reduction(+:total)
  do i = 1, n
    total = total + weighted(i)
  end do
  print '(f12.1)', total
contains
  real(8) function weighted(k)
    integer, intent(in) :: k
    weighted = table(k) * weights(k)
  end function
end program
