package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// readResults reads a results file: the last line of each mutation counts. A line that was cut short is left out.
func readResults(name string) (map[string]*result, error) {
	done := map[string]*result{}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		var r result
		if json.Unmarshal(s.Bytes(), &r) == nil {
			done[r.Room+"/"+r.Name] = &r
		}
	}
	return done, s.Err()
}

// printResult prints a row.
func printResult(w io.Writer, r *result) {
	fmt.Fprintf(w, "%-18s %-48s %7.1f s  %s\n", r.Verdict, r.Room+"/"+r.Name, r.Seconds, r.By)
	if r.Verdict == survived {
		fmt.Fprintf(w, "%-18s %s\n", "", r.Why)
	}
}

// printSums prints the numbers of verdicts of each room, and returns the number of unnoticed mutations.
func printSums(w io.Writer, list []*result) (left int) {
	type sums struct {
		n       map[verdict]int
		seconds float64
	}
	rooms := map[string]*sums{}
	var order []string
	for _, r := range list {
		for _, name := range []string{r.Room, "all"} {
			s := rooms[name]
			if s == nil {
				s = &sums{n: map[verdict]int{}}
				rooms[name] = s
				if name != "all" {
					order = append(order, name)
				}
			}
			s.n[r.Verdict]++
			s.seconds += r.Seconds
		}
		if r.Verdict != noticed {
			left++
		}
	}
	fmt.Fprintf(w, "\n%-12s %5s %8s %9s %6s %7s %8s\n", "room", "n", "noticed", "survived", "stale", "broken", "s")
	for _, name := range append(order, "all") {
		if s := rooms[name]; s != nil {
			n := s.n
			fmt.Fprintf(w, "%-12s %5d %8d %9d %6d %7d %8.0f\n", name, n[noticed]+n[survived]+n[stale]+n[broken], n[noticed], n[survived], n[stale], n[broken], s.seconds)
		}
	}
	return left
}
