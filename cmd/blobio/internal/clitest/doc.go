// Package clitest runs command lines in tests, and makes files for them.
package clitest
