! workshare and parallel workshare: array assignments, where, forall (OpenMP 5.1, 2.10.3).
program f_workshare
  implicit none
  integer :: a(50, 20), b(50, 20), i, j, s
  real :: r(100)
  !$omp parallel num_threads(4)
  !$omp workshare
  forall (i = 1:50, j = 1:20) a(i, j) = i * 100 + j
  b = a * 2
  where (mod(a, 3) == 0) b = -1
  r(1:50) = 1.5
  r(51:100) = r(1:50) + 1
  !$omp end workshare
  !$omp end parallel
  !$omp parallel workshare num_threads(3)
  s = sum(b)
  r = r * 2
  !$omp end parallel workshare
  print '(i10,f8.1)', s, sum(r)
end program
