! Every routine of omp_lib that has a Fortran form (OpenMP 5.1, section 3).
! hetmp-test: env=OMP_PLACES={0},{1}
! hetmp-test: threads=2
program api_fortran
  include 'api_fortran.inc'
end program
