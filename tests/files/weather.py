"""Average of the temperatures on standard input, one a line."""
import sys
from dataclasses import dataclass, field


@dataclass
class Station:
    degrees: list[float] = field(default_factory=list)

    def mean(self) -> float:
        return sum(self.degrees) / len(self.degrees) if self.degrees else 0.0


if __name__ == "__main__":
    station = Station([float(line) for line in sys.stdin if line.strip()])
    print(f"mean of {len(station.degrees)} readings: {station.mean():.2f}")
