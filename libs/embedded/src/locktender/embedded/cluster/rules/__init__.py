"""The rules that objects must keep, in the words of the real server. A part of what that server checks."""
