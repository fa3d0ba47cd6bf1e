! Ordered do loops and doacross from Fortran (OpenMP 5.1, 2.19.9).
program f_do_ordered
  implicit none
  integer, parameter :: n = 60
  integer :: i, j, at, log(n), wave(0:n), m(0:9, 0:9), bad
  at = 0
  bad = 0
  !$omp parallel do ordered schedule(dynamic, 3) num_threads(4)
  do i = 1, n
     !$omp ordered
     at = at + 1
     log(at) = i
     !$omp end ordered
  end do
  do i = 1, n
     if (log(i) /= i) bad = bad + 1
  end do
  wave(0) = 0
  !$omp parallel do ordered(1) schedule(static, 1) num_threads(3)
  do i = 1, n
     !$omp ordered depend(sink: i - 1)
     wave(i) = wave(i - 1) + i
     !$omp ordered depend(source)
  end do
  m = 1
  !$omp parallel do ordered(2) schedule(dynamic) num_threads(4)
  do i = 1, 9
     do j = 1, 9
        !$omp ordered depend(sink: i - 1, j) depend(sink: i, j - 1)
        m(i, j) = mod(m(i - 1, j) + m(i, j - 1), 10007)
        !$omp ordered depend(source)
     end do
  end do
  print '(4i8)', bad, at, wave(n), m(9, 9)
end program
