! Nonblocking collectives by Fortran's interfaces to MPI, and each function that waits. Two ranks; the line is the same
! with libhetmp_mpi.so and without it. Compiled with -Dwith_mpif, -Dwith_mpi or -Dwith_mpi_f08.
program fortran
#ifdef with_mpi_f08
#define REQUEST type(MPI_Request)
#define COMM type(MPI_Comm)
#define STATUS(n) type(MPI_Status) :: n
#define STATUSES(n, k) type(MPI_Status) :: n(k)
    use mpi_f08
    implicit none
#else
#define REQUEST integer
#define COMM integer
#define STATUS(n) integer :: n(MPI_STATUS_SIZE)
#define STATUSES(n, k) integer :: n(MPI_STATUS_SIZE, k)
#ifdef with_mpi
    use mpi
    implicit none
#else
    implicit none
    include 'mpif.h'
#endif
#endif
    integer, parameter :: many = 5
    integer :: ierr, me, ranks, i, k, index, some, indices(many)
    integer, asynchronous :: x(many), y(many), one, two(2), four(4), counts(2), places(2)
    double precision, asynchronous :: d, total
    logical :: done
    REQUEST :: r, all(many)
    COMM :: other
    STATUS(s)
    STATUSES(list, many)

    call MPI_INIT(ierr)
    call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
    call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
    call must(ranks == 2, 'two ranks')
    call MPI_COMM_DUP(MPI_COMM_WORLD, other, ierr)

    call MPI_IBARRIER(MPI_COMM_WORLD, r, ierr)
    call MPI_WAIT(r, MPI_STATUS_IGNORE, ierr)
    one = 7 + me
    call MPI_IBCAST(one, 1, MPI_INTEGER, 1, other, r, ierr)
    call MPI_WAIT(r, s, ierr)
    call must(one == 8, 'ibcast')
    d = 0.5d0 + me
    call MPI_IREDUCE(d, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, r, ierr)
    call MPI_WAIT(r, s, ierr)
    call must(me == 1 .or. total == 2d0, 'ireduce')
    total = d
    call MPI_IALLREDUCE(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_MAX, other, r, ierr)
    call MPI_WAIT(r, MPI_STATUS_IGNORE, ierr)
    call must(total == 1.5d0, 'iallreduce in place')
    two = [10 * me + 1, 10 * me + 2]
    call MPI_IALLTOALL(two, 1, MPI_INTEGER, four, 1, MPI_INTEGER, MPI_COMM_WORLD, r, ierr)
    call MPI_WAIT(r, s, ierr)
    call must(four(1) == 1 + me .and. four(2) == 11 + me, 'ialltoall')
    call MPI_IALLGATHER(two, 2, MPI_INTEGER, four, 2, MPI_INTEGER, MPI_COMM_WORLD, r, ierr)
    call MPI_WAIT(r, s, ierr)
    call must(all_of(four == [1, 2, 11, 12]), 'iallgather')
    one = -1
    call MPI_IEXSCAN(two, one, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, ierr)
    call MPI_WAIT(r, s, ierr)
    call must(me == 0 .or. one == 1, 'iexscan')
    counts = 1
    places = [0, 1]
    call MPI_IALLTOALLV(two, counts, places, MPI_INTEGER, four, counts, places, MPI_INTEGER, other, r, ierr)
    call MPI_WAIT(r, s, ierr)
    call must(four(1) == 1 + me .and. four(2) == 11 + me, 'ialltoallv')

    do k = 1, 8
        do i = 1, many
            x(i) = i + me
            y(i) = -1
            call MPI_IALLREDUCE(x(i), y(i), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, all(i), ierr)
        end do
        select case (k)
        case (1)
            call MPI_WAITALL(many, all, MPI_STATUSES_IGNORE, ierr)
        case (2)
            call MPI_WAITALL(many, all, list, ierr)
        case (3)
            done = .false.
            do while (.not. done)
                call MPI_TESTALL(many, all, done, list, ierr)
            end do
        case (4)
            do i = 1, many
                call MPI_WAITANY(many, all, index, s, ierr)
                call must(index /= MPI_UNDEFINED, 'waitany')
            end do
        case (5)
            i = 0
            do while (i < many)
                call MPI_TESTANY(many, all, index, done, s, ierr)
                if (done) i = i + 1
            end do
        case (6)
            i = 0
            do while (i < many)
                call MPI_WAITSOME(many, all, some, indices, list, ierr)
                i = i + some
            end do
        case (7)
            i = 0
            do while (i < many)
                call MPI_TESTSOME(many, all, some, indices, list, ierr)
                i = i + some
            end do
        case (8)
            do i = 1, many
                done = .false.
                do while (.not. done)
                    call MPI_TEST(all(i), done, s, ierr)
                end do
            end do
        end select
        do i = 1, many
            call must(y(i) == 2 * i + 1, 'a sum')
            call must(all(i) == MPI_REQUEST_NULL, 'the null request')
        end do
    end do
    ! Its status, before the wait.
    call MPI_IALLREDUCE(x, y, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, r, ierr)
    call MPI_REQUEST_GET_STATUS(r, done, s, ierr)
    call MPI_WAIT(r, s, ierr)
    call MPI_COMM_FREE(other, ierr)
    if (me == 0) print '(1x,a)', 'fortran: passed'
    call MPI_FINALIZE(ierr)

contains
    logical function all_of(each)
        logical, intent(in) :: each(:)
        all_of = count(each) == size(each)
    end function

    subroutine must(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what
        integer :: code
        if (holds) return
        print *, 'fortran: not so: ', what
        call MPI_ABORT(MPI_COMM_WORLD, 1, code)
    end subroutine
end program
