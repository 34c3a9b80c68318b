package cello

import (
	"fmt"
	"strings"
)

// DirState is what a directory name may be made of.
type DirState struct {
	Cycle int64
	Time  float64
	Count int64 // how many checkpoints the run has written before
	Proc  int64 // rank of the process; 0 in the name of a directory that several processes write
}

// dirName makes a directory name as Method:check:dir does: a printf format,
// and for each of its conversions one of cycle, time, count, proc and flipflop
// (count modulo 2). Conversions are d, i, u, x, X, o for integers and e, E, f,
// F, g, G for time, with flags, width and precision, and %%.
func dirName(format string, vars []string, s DirState) (string, error) {
	var b strings.Builder
	next := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		j := i + 1
		for j < len(format) && strings.IndexByte("+- #0123456789.", format[j]) >= 0 {
			j++
		}
		flags := format[i+1 : j]
		for j < len(format) && (format[j] == 'l' || format[j] == 'h') { // length of the C type
			j++
		}
		if j == len(format) {
			return "", pkg.Usage("directory format %q ends in a conversion", format)
		}
		verb := format[j]
		i = j
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if len(flags) > 8 {
			return "", pkg.Usage("directory format %q: conversion %q is too wide", format, flags)
		}
		if next == len(vars) {
			return "", pkg.Usage("directory format %q has more conversions than the %d variables %q", format, len(vars), vars)
		}
		name := vars[next]
		next++
		var n int64
		switch name {
		case "cycle":
			n = s.Cycle
		case "count":
			n = s.Count
		case "proc":
			n = s.Proc
		case "flipflop":
			n = s.Count % 2
		case "time":
		default:
			return "", pkg.Usage("directory variable %q, want cycle, time, count, proc or flipflop", name)
		}
		switch isTime := name == "time"; {
		case strings.IndexByte("diu", verb) >= 0 && !isTime:
			fmt.Fprintf(&b, "%"+flags+"d", n)
		case strings.IndexByte("xXo", verb) >= 0 && !isTime:
			fmt.Fprintf(&b, "%"+flags+string(verb), n)
		case strings.IndexByte("eEfFgG", verb) >= 0 && isTime:
			if !strings.Contains(flags, ".") {
				flags += ".6" // the default of C; that of Go for %g is another
			}
			fmt.Fprintf(&b, "%"+flags+string(verb), s.Time)
		default:
			return "", pkg.Usage("directory format %q: %%%c does not fit variable %s", format, verb, name)
		}
	}
	if next != len(vars) {
		return "", pkg.Usage("directory format %q has %d conversions for %d variables %q", format, next, len(vars), vars)
	}
	if b.Len() == 0 {
		return "", pkg.Usage("directory name is empty")
	}
	return b.String(), nil
}
