"""Estimates of counts on interval trees and their exact errors."""
