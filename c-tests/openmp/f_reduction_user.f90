! declare reduction for a derived type (OpenMP 5.1, 2.21.5.7).
module interval_mod
  implicit none
  type interval
     integer :: lo = 1000000, hi = -1000000, n = 0
  end type
contains
  pure function joined(a, b) result(r)
    type(interval), intent(in) :: a, b
    type(interval) :: r
    r = interval(min(a%lo, b%lo), max(a%hi, b%hi), a%n + b%n)
  end function
end module

program f_reduction_user
  use interval_mod
  implicit none
  type(interval) :: t
  integer :: i
  !$omp declare reduction(join: interval: omp_out = joined(omp_out, omp_in)) initializer(omp_priv = interval())
  !$omp parallel do reduction(join: t) num_threads(4) schedule(guided)
  do i = 1, 500
     t = joined(t, interval(mod(i * 91, 503), mod(i * 91, 503), 1))
  end do
  print '(3i8)', t%lo, t%hi, t%n
end program
