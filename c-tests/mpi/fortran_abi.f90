! Nonblocking, persistent and blocking collectives of a Fortran program on MPI 5's common interface. That has no Fortran
! of its own, but says what its handles are: the program calls MPI as C does. Two ranks.
module mpi_abi
    use iso_c_binding
    implicit none
    integer(c_intptr_t), parameter :: world = int(z'101', c_intptr_t), doubles = int(z'214', c_intptr_t)
    integer(c_intptr_t), parameter :: sum_of = int(z'21', c_intptr_t), no_info = int(z'130', c_intptr_t)
    interface
        integer(c_int) function mpi_init(argc, argv) bind(C, name='MPI_Init')
            import
            type(c_ptr), value :: argc, argv
        end function
        integer(c_int) function mpi_finalize() bind(C, name='MPI_Finalize')
            import
        end function
        integer(c_int) function mpi_comm_rank(comm, rank) bind(C, name='MPI_Comm_rank')
            import
            integer(c_intptr_t), value :: comm
            integer(c_int) :: rank
        end function
        integer(c_int) function mpi_iallreduce(from, to, n, kind, op, comm, request) bind(C, name='MPI_Iallreduce')
            import
            type(c_ptr), value :: from, to
            integer(c_int), value :: n
            integer(c_intptr_t), value :: kind, op, comm
            integer(c_intptr_t) :: request
        end function
        integer(c_int) function mpi_allreduce(from, to, n, kind, op, comm) bind(C, name='MPI_Allreduce')
            import
            type(c_ptr), value :: from, to
            integer(c_int), value :: n
            integer(c_intptr_t), value :: kind, op, comm
        end function
        integer(c_int) function mpi_bcast_init(at, n, kind, root, comm, info, request) bind(C, name='MPI_Bcast_init')
            import
            type(c_ptr), value :: at
            integer(c_int), value :: n, root
            integer(c_intptr_t), value :: kind, comm, info
            integer(c_intptr_t) :: request
        end function
        integer(c_int) function mpi_start(request) bind(C, name='MPI_Start')
            import
            integer(c_intptr_t) :: request
        end function
        integer(c_int) function mpi_wait(request, status) bind(C, name='MPI_Wait')
            import
            integer(c_intptr_t) :: request
            type(c_ptr), value :: status
        end function
        integer(c_int) function mpi_request_free(request) bind(C, name='MPI_Request_free')
            import
            integer(c_intptr_t) :: request
        end function
    end interface
end module

program fortran_abi
    use mpi_abi
    implicit none
    integer(c_int), parameter :: n = 4096
    real(c_double), target, asynchronous :: mine(n), all(n)
    integer(c_intptr_t) :: request
    integer(c_int) :: me, round, wrong, code
    wrong = 0
    code = mpi_init(c_null_ptr, c_null_ptr)
    code = mpi_comm_rank(world, me)
    do round = 1, 3
        mine = me + round
        code = mpi_iallreduce(c_loc(mine), c_loc(all), 5, doubles, sum_of, world, request)
        code = mpi_wait(request, c_null_ptr)
        wrong = wrong + count(all(1:5) /= 2 * round + 1)
        code = mpi_allreduce(c_loc(mine), c_loc(all), n, doubles, sum_of, world)
        wrong = wrong + count(all /= 2 * round + 1)
    end do
    code = mpi_bcast_init(c_loc(all), n, doubles, 1, world, no_info, request)
    do round = 1, 3
        all = me * 10 + round
        code = mpi_start(request)
        code = mpi_wait(request, c_null_ptr)
        wrong = wrong + count(all /= 10 + round)
    end do
    code = mpi_request_free(request)
    if (me == 0) print '(a,i0,a)', 'fortran_abi: ', wrong, ' wrong'
    code = mpi_finalize()
end program
