! simd loops and declare simd functions inside worksharing (OpenMP 5.1, 2.11.5).
program f_simd_declare
  implicit none
  integer :: i
  real(8) :: a(1000), s
  !$omp parallel do simd schedule(simd: static, 8) num_threads(4)
  do i = 1, 1000
     a(i) = twice(real(i, 8))
  end do
  s = 0
  !$omp parallel do simd reduction(+:s)
  do i = 1, 1000
     s = s + a(i)
  end do
  print '(f12.1)', s
contains
  pure function twice(x) result(r)
    !$omp declare simd(twice)
    real(8), intent(in) :: x
    real(8) :: r
    r = 2 * x
  end function
end program
