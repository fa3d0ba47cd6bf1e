! Inclusive and exclusive scans (OpenMP 5.1, 2.11.8).
program f_scan
  implicit none
  integer :: i, s, e, inc(200), exc(200), run, bad
  s = 3; e = 3; bad = 0
  !$omp parallel do reduction(inscan, +:s) num_threads(4)
  do i = 1, 200
     s = s + mod(i * 7, 13)
     !$omp scan inclusive(s)
     inc(i) = s
  end do
  !$omp parallel do reduction(inscan, +:e) num_threads(3)
  do i = 1, 200
     exc(i) = e
     !$omp scan exclusive(e)
     e = e + mod(i * 7, 13)
  end do
  run = 3
  do i = 1, 200
     if (exc(i) /= run) bad = bad + 1
     run = run + mod(i * 7, 13)
     if (inc(i) /= run) bad = bad + 1
  end do
  print '(4i6)', bad, s, e, run
end program
