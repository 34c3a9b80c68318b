//go:build mpich

package mpitest

var launchers = []string{"mpirun.mpich", "mpirun"}
