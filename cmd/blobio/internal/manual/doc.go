// Package manual has the verb man, which writes the help of all verbs as manual pages.
package manual
