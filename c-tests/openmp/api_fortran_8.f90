! Every routine of omp_lib that has a Fortran form, called with 8-byte integers and logicals
! (OpenMP 5.1, section 3).
! hetmp-test: flags=-fdefault-integer-8
! hetmp-test: env=OMP_PLACES={0:2}
! hetmp-test: threads=2
program api_fortran_8
  include 'api_fortran.inc'
end program
