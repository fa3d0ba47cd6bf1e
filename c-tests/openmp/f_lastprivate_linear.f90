! lastprivate of the loop variable, conditional lastprivate and linear (OpenMP 5.1, 2.21.4).
program f_lastprivate_linear
  implicit none
  integer :: i, j, x, y(100)
  x = -1
  !$omp parallel do lastprivate(i, x) schedule(dynamic, 3) num_threads(4)
  do i = 1, 98
     x = i * 2
  end do
  print '(2i6)', i, x
  j = 5
  !$omp parallel do simd linear(j: 2) num_threads(3)
  do i = 1, 100
     y(i) = j
     j = j + 2
  end do
  print '(3i6)', j, y(1), y(100)
end program
