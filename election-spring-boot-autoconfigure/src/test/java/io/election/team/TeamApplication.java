package io.election.team;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;

/** A service as a team writes one: web, JPA, tables of its own, jobs, actuator. */
@SpringBootApplication
@EnableScheduling
class TeamApplication {}
