// Average of the temperatures on standard input, one a line.
#include <iostream>
#include <vector>

struct Station {
  std::vector<double> degrees;
  double mean() const {
    double sum = 0;
    for (const double d : degrees) sum += d;
    return degrees.empty() ? 0 : sum / static_cast<double>(degrees.size());
  }
};

int main() {
  Station station;
  for (double d; std::cin >> d;) station.degrees.push_back(d);
  std::cout << "mean of " << station.degrees.size() << " readings: " << station.mean() << '\n';
}
