/* Containers of the C++ library in regions that cross nodes: trees, lists and hash tables that a thread makes for itself, and one map of
   the program that threads change in turns. What the library does with them is memory alone. */
#include <cstdio>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

static std::map<int, long> counted;

static long own(int i)
{
    std::map<int, int> numbers;
    std::set<int> seen;
    std::unordered_map<std::string, int> words;
    std::list<int> chain;
    for (int k = 0; k < 60; k++) {
        int key = (i * 31 + k * k) % 97;
        numbers[key] += k;
        seen.insert(key);
        words[std::string(1 + key % 20, static_cast<char>('a' + key % 26))] += key;
        chain.push_back(key);
    }
    seen.erase(i % 97);
    long sum = 0;
    for (const auto &pair : numbers)
        sum = sum * 3 % 1000003 + pair.first + pair.second;
    for (auto at = seen.rbegin(); at != seen.rend(); ++at)
        sum = sum * 3 % 1000003 + *at;
    chain.reverse();
    for (int key : chain)
        sum = sum * 3 % 1000003 + key;
    return sum + static_cast<long>(words.size());
}

int main()
{
    std::vector<long> sums(400);
    for (int lap = 0; lap < 3; lap++) {
#pragma omp parallel for num_threads(4) schedule(dynamic, 25)
        for (int i = 0; i < 400; i++) {
            sums[i] += own(i + lap);
#pragma omp critical
            counted[i % 40] += i;
        }
    }
    long all = 0;
    for (long sum : sums)
        all = all * 7 % 1000003 + sum;
    for (const auto &pair : counted)
        all = all * 7 % 1000003 + pair.second;
    std::printf("%ld, %zu\n", all, counted.size());
    return 0;
}
