// Objects with virtual functions, made by one thread and used by all.
#include <cstdio>
#include <memory>
#include <vector>

struct Shape {
    virtual double area() const = 0;
    virtual ~Shape() = default;
};

struct Square : Shape {
    explicit Square(double a) : a(a) {}
    double area() const override { return a * a; }
    double a;
};

struct Disc : Shape {
    explicit Disc(double r) : r(r) {}
    double area() const override { return 3 * r * r; }
    double r;
};

template <typename T> T scaled(T value) {
    static T factor = 2;
    return value * factor;
}

int main() {
    std::vector<std::unique_ptr<Shape>> all;
    for (int i = 0; i < 1000; i++) {
        if (i % 3)
            all.push_back(std::make_unique<Square>(i));
        else
            all.push_back(std::make_unique<Disc>(i));
    }
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += scaled(all[i]->area());
    std::printf("%.1f\n", sum);
}
