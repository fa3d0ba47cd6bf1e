! Reductions over arrays, allocatables and every operator and intrinsic (OpenMP 5.1, 2.21.5).
program f_reduction_array
  implicit none
  integer :: h(8), i, mx, mn, band, bor, bxor, prod
  integer, allocatable :: g(:, :)
  logical :: all_ok, any_ok, same, differ
  complex :: z
  real(8) :: d
  allocate (g(3, 4))
  h = 0; g = 1; mx = -5; mn = 5; band = -1; bor = 0; bxor = 0; prod = 1
  all_ok = .true.; any_ok = .false.; same = .true.; differ = .false.
  z = (0., 0.); d = 1d0
  !$omp parallel do num_threads(5) schedule(dynamic, 3) reduction(+:h, g, z, d) reduction(max:mx) reduction(min:mn) &
  !$omp reduction(iand:band) reduction(ior:bor) reduction(ieor:bxor) reduction(*:prod) reduction(.and.:all_ok) &
  !$omp reduction(.or.:any_ok) reduction(.eqv.:same) reduction(.neqv.:differ)
  do i = 1, 100
     h(mod(i, 8) + 1) = h(mod(i, 8) + 1) + i
     g(mod(i, 3) + 1, mod(i, 4) + 1) = g(mod(i, 3) + 1, mod(i, 4) + 1) + 1
     z = z + cmplx(i, -i)
     d = d + 0.5d0
     mx = max(mx, mod(i * 37, 101))
     mn = min(mn, 3 - mod(i * 37, 101))
     band = iand(band, not(ishft(1, mod(i, 20))))
     bor = ior(bor, ishft(1, mod(i, 20)))
     bxor = ieor(bxor, i)
     if (i <= 4) prod = prod * i
     all_ok = all_ok .and. i <= 100
     any_ok = any_ok .or. i == 50
     same = same .eqv. (mod(i, 3) == 0)
     differ = differ .neqv. (mod(i, 7) == 0)
  end do
  print '(8i6)', h
  print '(12i5)', g
  print '(2f10.1,f8.2)', z, d
  print '(6i12)', mx, mn, band, bor, bxor, prod
  print '(4l3)', all_ok, any_ok, same, differ
end program
