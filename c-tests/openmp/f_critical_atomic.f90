! critical, named critical and all atomic forms (OpenMP 5.1, 2.19).
program f_critical_atomic
  implicit none
  integer :: i, a, b, c, old, seen(1000), mx
  real(8) :: d
  logical :: l
  a = 0; b = 0; c = 0; d = 0; seen = 0; mx = 0; l = .true.
  !$omp parallel do num_threads(4) private(old)
  do i = 1, 1000
     !$omp critical
     a = a + 1
     !$omp end critical
     !$omp critical (other)
     b = b + 1
     !$omp end critical (other)
     !$omp atomic capture
     old = c
     c = c + 1
     !$omp end atomic
     seen(old + 1) = seen(old + 1) + 1
     !$omp atomic update
     d = d + 0.25d0
     !$omp atomic
     mx = max(mx, i)
     !$omp atomic
     l = l .and. .true.
     !$omp atomic write
     old = i
     !$omp atomic read
     old = c
  end do
  if (any(seen /= 1)) stop 1
  print '(4i6,f8.2,l2)', a, b, c, mx, d, l
end program
