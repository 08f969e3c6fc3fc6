"""What an operator may rely on whatever happens. Each has at least one planted bug that a test catches."""

PROMISES = {
    "P-01": "What was answered with 2xx is synced to disk; the bus is never the record.",
    "P-02": "A request with a key is carried out once, raced and restarted too; with another body "
    "the key is a conflict.",
    "P-03": "Messages of a space have one order, and their numbers have no gap.",
    "P-04": "Whoever resumes a stream has everything once; what is lost is announced.",
    "P-05": "Coming back is asked for leave again, and who lost it is cut off within a second, everywhere.",
    "P-06": "An outside effect is noted before and after; one that nobody knows of is not repeated.",
    "P-07": "A run has one driver, and one that was replaced writes nothing.",
    "P-08": "Of any number of answers to a card one counts, and the others are told which.",
    "P-09": "After a kill every run goes on, has ended or waits, and no part is left half done.",
    "P-10": "Cancel is final, and hanging up is no cancel.",
    "P-11": "Loops and costs are bounded, and a bound that was hit is seen.",
    "P-12": "A reader that is slow is cut and can resume; nobody else waits for it.",
    "P-13": "Bodies, nesting, arguments, results and events are bounded.",
    "P-14": "What somebody says cannot stop a space, whatever it is made of.",
    "P-15": "Asked to stop, a gateway tells its readers, hands its runs over and ends with 0.",
    "P-16": "With a full disk or a locked database nothing is acknowledged, and it heals by itself.",
    "P-17": "Losing the bus costs time, not messages.",
    "P-18": "A damaged database is refused, and nothing is begun over it.",
    "P-19": "One seed tells the same history again.",
}
